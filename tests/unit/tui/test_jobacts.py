"""What is done to jobs at once, and the way back: of what was done, and of nothing else."""

from typing import Any

from jobctl.client.transport import Request, Response
from jobctl_tui.live import burial, jobacts
from jobctl_tui.live.aim import Aim
from kit.scripted import Scripted, answered, problem

Json = dict[str, Any]
AIMS = [Aim(1, "one"), Aim(2, "two"), Aim(3, "three")]


def three_jobs() -> Scripted:
    """The second was paused before; the third cannot be changed."""

    def conflict(request: Request) -> Response:
        return problem(409, "conflict", "it is not yours")

    answers: Json = {}
    for ident in (1, 2, 3):
        was = {"paused": ident == 2, "paused_until": None, "paused_why": "provider is down" if ident == 2 else None}
        answers[f"/v1/jobs/{ident}"] = {"id": ident, **was}
        for verb in ("pause", "resume", "skip", "runs"):
            answers[f"/v1/jobs/{ident}/{verb}"] = conflict if ident == 3 else {"id": 100 + ident}
    answers |= {"/v1/runs/101/cancel": {"id": 101}, "/v1/runs/102/cancel": {"id": 102}}
    return Scripted(answers)


def changes(daemon: Scripted) -> list[tuple[str, Any]]:
    return [(request.path, request.body) for request in daemon.asked if request.method == "POST"]


def test_the_way_back_from_a_pause_resumes_what_was_paused_by_it_alone() -> None:
    daemon = three_jobs()
    change = jobacts.pause(AIMS, "2h", "moving")
    done = change.work(daemon.client())
    assert (done.ids, [aim.id for aim, _ in done.failed]) == ((1, 2), [3])
    daemon.asked.clear()
    change.undo(daemon.client())
    assert changes(daemon) == [("/v1/jobs/1/resume", None), ("/v1/jobs/2/pause", {"why": "provider is down"})]


def test_the_way_back_from_a_resume_is_the_pause_that_was() -> None:
    daemon = three_jobs()
    change = jobacts.resume(AIMS[1:])
    change.work(daemon.client())
    daemon.asked.clear()
    change.undo(daemon.client())
    assert changes(daemon) == [("/v1/jobs/2/pause", {"why": "provider is down"})]


def test_the_way_back_from_a_run_cancels_the_run_that_was_made() -> None:
    daemon = three_jobs()
    change = jobacts.run(AIMS)
    change.work(daemon.client())
    daemon.asked.clear()
    change.undo(daemon.client())
    assert [path for path, _ in changes(daemon)] == ["/v1/runs/101/cancel", "/v1/runs/102/cancel"]


def test_what_is_left_out_comes_after_all() -> None:
    daemon = three_jobs()
    change = jobacts.skip(AIMS[:1])
    change.work(daemon.client())
    change.undo(daemon.client())
    assert changes(daemon) == [("/v1/jobs/1/skip", {"count": 1}), ("/v1/jobs/1/skip", {"count": 0})]


def test_dead_letters_are_replayed_the_oldest_first_and_in_requests_of_a_thousand() -> None:
    bodies: list[Json] = []

    def replay(request: Request) -> Response:
        body: Any = request.body
        bodies.append(body)
        return answered({"batch": 1, "replayed": body["ids"], "skipped": [{"id": 0, "reason": "it is none"}]})

    daemon = Scripted({"/v1/dead/replay": replay})
    newest_first = list(range(1500, 0, -1))
    done = burial.replay(newest_first, {"current": True})(daemon.client())
    assert [(body["ids"][0], len(body["ids"]), body["current"]) for body in bodies] == [
        (1, 1000, True),
        (1001, 500, True),
    ]
    assert (len(done.ids), len(done.skipped)) == (1500, 2)


def test_what_is_gathered_of_letters_says_which_jobs_have_changed_or_are_gone() -> None:
    runs = [{"id": n, "job_id": n, "version": 1, "fingerprint": "aa", "finished_at": "x"} for n in (1, 2, 3)]
    daemon = Scripted({
        "/v1/jobs/1": {"version": 1}, "/v1/jobs/2": {"version": 4},
        "/v1/jobs/1/durations": {"p50": 60.0}, "/v1/dead/groups": [{"replays": 3}],
    })  # fmt: skip
    found = burial.gather(daemon.client(), runs)
    assert (found.changed, found.jobs[3], found.died_again, found.usual_s) == (1, None, 3, (60.0,))
