"""A server of another architecture, started on its lane: a real compiler, a real emulator."""

import subprocess
from pathlib import Path

import pytest

from harness.lane import parse
from harness.places import bundled
from harness.served.live.http import Server
from harness.served.live.settings import Start
from harness.served.live.starting import started
from harness.toolchain import host_arch, load_toolchains, toolchain_for
from tests.unit.wired import closed_port

SOURCE = r"""
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>
int main(int, char** argv) {
  int listening = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(std::atoi(argv[1]));
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listening, reinterpret_cast<sockaddr*>(&at), sizeof at) || listen(listening, 8)) {
    std::cerr << std::strerror(errno) << std::endl;
    return 1;
  }
  utsname machine{};
  uname(&machine);
  std::string body = machine.machine;
  for (;;) {
    int one = accept(listening, nullptr, nullptr);
    char request[4096];
    if (read(one, request, sizeof request) > 0) {
      std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) +
                           "\r\nConnection: close\r\n\r\n" + body;
      if (write(one, answer.data(), answer.size()) < 0) return 2;
    }
    close(one);
  }
}
"""
LANE = "aarch64-linux-gnu/default/qemu-cortex-a53"


@pytest.mark.parametrize("link", [[], ["-static"]], ids=["dynamic", "static"])
def test_a_server_under_an_emulator(link: list[str], tmp_path: Path) -> None:
    toolchains = load_toolchains([bundled("toolchains")])
    gcc = toolchain_for(parse(LANE), toolchains).compilers["gcc"]
    compiler = gcc.native if host_arch() == "aarch64" else gcc.cross
    source = tmp_path / "server.cpp"
    source.write_text(SOURCE)
    subprocess.run(
        [compiler.needs[0].program, *link, str(source), "-o", str(tmp_path / "server")], check=True
    )
    port = closed_port()
    start = Start(("./server", str(port)), tmp_path, LANE, 30)
    url = f"http://127.0.0.1:{port}"
    with started(start, url, toolchains), Server(url) as server:
        assert server.alive().body == b"aarch64"
    with Server(url) as server:
        assert server.nobody()
