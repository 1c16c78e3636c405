"""The program that is llama.cpp's own HTTP server: MODEL PORT CONTEXT [--until-eof].

Prints the address once it answers. With the flag it ends with its standard input, so that it cannot
outlive the test that started it.
"""

import signal
import sys

import xllamacpp


def main() -> None:
    model, port, context, *rest = sys.argv[1:]
    parameters = xllamacpp.CommonParams()
    parameters.model.path = model
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = int(port)
    parameters.n_ctx = int(context)
    parameters.n_parallel = 1
    parameters.warmup = False
    parameters.endpoint_metrics = True
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    if "--until-eof" in rest:
        sys.stdin.read()
    else:
        signal.pause()
    # The server's own threads do not end with it.
    sys.stdout.flush()
    signal.raise_signal(signal.SIGKILL)


if __name__ == "__main__":
    main()
