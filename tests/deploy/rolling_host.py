"""A process of rolling_host_N, which works on a store and answers lines; see rolling_host.cc."""

import subprocess
import threading


class Host:
    """Ended at the latest with the `with` block, or by end()."""

    def __init__(self, program, url, env=None):
        self.process = subprocess.Popen([program, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=env)
        self.errors = []  # What it has complained about so far.
        self.reader = threading.Thread(target=lambda: self.errors.extend(self.process.stderr))
        self.reader.start()
        if self.process.stdout.readline() != "ready\n":
            self.process.wait()
            self.end()
            raise RuntimeError("a host does not start: " + "".join(self.errors))

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def answer(self):
        lines = []
        while (line := self.process.stdout.readline()) != "done\n":
            if not line:
                raise RuntimeError("a host has ended: " + "".join(self.errors))
            lines.append(line.rstrip("\n"))
        return lines

    def do(self, *words):
        self.ask(*words)
        return self.answer()

    def stop(self):
        """Ends it in good order; returns its exit code."""
        self.process.stdin.close()
        code = self.process.wait(timeout=60)
        self.reader.join()
        return code

    def end(self):
        """Ends it, if it has not."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.reader.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
