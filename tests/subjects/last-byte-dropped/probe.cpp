#include "../planted.hpp"

int main(int argc, char** argv) {
  return planted::serve(argc, argv, "last-byte-dropped",
                        [](const planted::Encode& encode, std::string_view text) {
                          // strncpy's habit: room for a terminator, taken from the text.
                          if (!text.empty()) text.remove_suffix(1);
                          return encode(text);
                        });
}
