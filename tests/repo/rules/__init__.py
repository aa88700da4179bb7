"""The rules of STYLE.md that no linter knows: functions from a tree to complaints."""

from collections.abc import Callable, Iterator

from tests.repo.rules import sizes, texts, walls
from tests.repo.rules.tree import Tree

Rule = Callable[[Tree], Iterator[str]]

RULES: tuple[Rule, ...] = (
    sizes.files_are_short,
    sizes.functions_are_short,
    sizes.parameters_are_few,
    texts.files_are_named_for_what_they_hold,
    texts.modules_say_what_they_hold,
    texts.markdown_has_one_title,
    texts.nothing_is_left_for_later,
    texts.limits_have_reasons,
    texts.migrations_come_in_pairs,
    texts.locks_name_no_place,
    walls.queries_stay_in_the_store,
    walls.dialects_stay_in_the_store,
    walls.drivers_stay_in_their_folders,
    walls.clocks_and_dice_stay_in_their_seams,
)
