#include <unistd.h>

#include "../planted.hpp"

int main(int argc, char** argv) {
  return planted::serve(argc, argv, "hang-on-one",
                        [](const planted::Encode& encode, std::string_view text) {
                          // Waits for ever instead of spinning: the tests' machine has other work.
                          while (text == planted::kOneCase) pause();
                          return encode(text);
                        });
}
