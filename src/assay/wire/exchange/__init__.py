"""What SDKs and engines say to each other in one request: many operations, many answers.

    request   {v, session, operations, takings, awaited, held, histories, wait_secs}
    answer    {v, instance, fresh, outcomes, runs, activities, endings, histories}

`operations` are performed in order, each alone; `outcomes` has one entry for each, with the status
its own route would answer. `takings` say what a worker takes (`seen`: how many of the kind have
arrived in this session), `awaited` whose end is asked for; both hold until they are said anew, or
until an answer is `fresh`: the engine knew nothing of the session. `held` is said after an answer
may have been lost: the tokens of all tasks in hand, so that others are sent again.
"""
