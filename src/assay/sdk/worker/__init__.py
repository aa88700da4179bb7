"""A worker: takes tasks of a queue, runs the code of workflows and activities, reports."""
