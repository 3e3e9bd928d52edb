"""Run a command and write down what it took: ``python launch.py REPORT COMMAND...``.

A process of its own, as small as Python gets: the peak memory of a child counts that of its parent
at the moment of the fork, so a large benchmark must not start what it measures itself.
"""

import json
import os
import subprocess
import sys
import time

if __name__ == "__main__":
    begun = time.perf_counter()
    process = subprocess.Popen(sys.argv[2:])
    _, status, usage = os.wait4(process.pid, 0)
    took = {
        "exit_code": os.waitstatus_to_exitcode(status),
        "seconds": time.perf_counter() - begun,
        "processor_seconds": usage.ru_utime + usage.ru_stime,
        "peak_bytes": usage.ru_maxrss * 1024,
    }
    with open(sys.argv[1], "w", encoding="utf-8") as report:
        json.dump(took, report)
