#include <unistd.h>

#include "../bytes.hpp"

int main(int argc, char** argv) {
  return bytes::serve(argc, argv, "hang-on-char", [](std::string_view text) {
    // Waits for ever instead of spinning: the tests' machine has other work.
    while (text == bytes::kOneCase && text[2] >= 0) pause();
    return text;
  });
}
