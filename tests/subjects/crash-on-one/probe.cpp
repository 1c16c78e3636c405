#include <csignal>

#include "../planted.hpp"

int main(int argc, char** argv) {
  return planted::serve(argc, argv, "crash-on-one",
                        [](const planted::Encode& encode, std::string_view text) {
                          // Raised, not dereferenced: a compiler may do anything with a null
                          // pointer that it can see.
                          if (text == planted::kOneCase) std::raise(SIGSEGV);
                          return encode(text);
                        });
}
