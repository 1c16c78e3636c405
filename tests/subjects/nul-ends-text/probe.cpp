#include "../planted.hpp"

int main(int argc, char** argv) {
  return planted::serve(argc, argv, "nul-ends-text",
                        [](const planted::Encode& encode, std::string_view text) {
                          const std::string copy(text);
                          return encode(copy.c_str());
                        });
}
