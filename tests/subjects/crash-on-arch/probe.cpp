#include <csignal>

#include "../bytes.hpp"

int main(int argc, char** argv) {
  return bytes::serve(argc, argv, "crash-on-arch", [](std::string_view text) {
#ifdef __aarch64__
    if (text == bytes::kOneCase) std::raise(SIGSEGV);
#endif
    return text;
  });
}
