"""Many cases on few benches, side by side: most of a case is waiting for processes."""

import threading


def try_all(cases, make, attempt, *, width=2, state=lambda bench: ""):
    """
    Call `attempt(bench, case)` for every case, *width* at a time, each on the bench that one thread has made.

    A bench on which a case failed is left alone and a new one made. All failures are said together.

    Args:
        state: says what is there on a bench, for the first failure.
    """
    waiting, failed, lock = list(cases)[::-1], [], threading.Lock()
    total = len(waiting)

    def work():
        bench = None
        while True:
            with lock:
                if not waiting:
                    return
                case = waiting.pop()
            try:
                bench = make() if bench is None else bench
                attempt(bench, case)
            except Exception as e:
                seen = state(bench) if bench is not None and not failed else ""
                failed.append(f"{case}: {type(e).__name__}: {e}\n{seen}")
                bench = None

    threads = [threading.Thread(target=work, name=f"bench-{number}") for number in range(width)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, f"{len(failed)} of {total}\n" + "\n".join(failed)
