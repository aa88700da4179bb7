"""A plain script whose work is not done twice: `with`, plain functions, no event loop in sight.

python examples/blocking_script.py
python examples/blocking_script.py     # the result is there already: nothing is fetched again
"""

from dataclasses import dataclass
from datetime import date

import assay
from assay import blocking


@dataclass
class Report:
    day: date
    cities: list[str]


@assay.activity
def fetch(ctx: assay.ActivityContext, city: str) -> int:
    print(f"measuring {city}", flush=True)
    return len(city)


@assay.workflow
async def summarize(ctx: assay.WorkflowContext, report: Report) -> dict[str, int]:
    found: dict[str, int] = {}
    for city in report.cities:
        found[city] = await ctx.execute_activity(fetch, city)
    return found


def main() -> None:
    report = Report(date(2027, 1, 15), ["Ulm", "Bonn", "Trier"])
    with blocking.open("reports.db", workflows=[summarize], activities=[fetch]) as app:
        run = app.workflows.start(summarize, f"report-{report.day}", report, if_exists="use")
        for city, value in run.result().items():
            print(f"{city}: {value}")


if __name__ == "__main__":
    main()
