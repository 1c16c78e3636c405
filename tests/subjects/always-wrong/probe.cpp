#include "../planted.hpp"

int main(int argc, char** argv) {
  return planted::serve(argc, argv, "always-wrong",
                        [](const planted::Encode& encode, std::string_view text) {
                          planted::Ids ids = encode(text);
                          for (std::uint32_t& id : ids) ++id;
                          return ids;
                        });
}
