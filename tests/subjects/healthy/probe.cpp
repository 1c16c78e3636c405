#include "../planted.hpp"

int main(int argc, char** argv) {
  return planted::serve(
      argc, argv, "healthy",
      [](const planted::Encode& encode, std::string_view text) { return encode(text); });
}
