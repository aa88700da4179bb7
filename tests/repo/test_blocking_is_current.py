"""The blocking client is what its generator makes of the client, and nothing else is beside it."""

from scripts.generate_blocking import TARGET, Module, generate

PLANTED = '''
"""Clocks."""

from assay.sdk.client.handle import Handle

class Clocks:
    """All clocks."""

    async def wind(self, id: str, *, turns: int = 1) -> Handle:
        """Wind one."""
        return await self._wind(id, turns)

    async def _wind(self, id: str, turns: int) -> Handle: ...
'''
MADE = '''
    def wind(self, id: str, *, turns: int=1) -> Handle:
        """Wind one."""
        return Handle(self._portal, self._portal.call(self._twin.wind(id, turns=turns)))
'''


def test_the_blocking_client_is_current() -> None:
    wanted = generate()
    assert set(TARGET.glob("*.py")) == wanted.keys()
    for path, text in wanted.items():
        assert path.read_text(encoding="utf-8") == text, f"{path}: run scripts/generate_blocking.py"


def test_a_coroutine_becomes_a_plain_call() -> None:
    text = Module("clocks", PLANTED, {"Clocks": "clocks", "Handle": "handle"}).text()
    assert MADE.strip("\n") in text
    assert "from assay.sdk.blocking.handle import Handle" in text
    assert "_wind" not in text.replace("self._wind", "")
