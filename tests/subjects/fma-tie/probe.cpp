#include "../planted.hpp"

namespace {

// What cutting the text would gain. The square of 1 + n·2^-23 is 1 + 2n·2^-23 + n²·2^-46: rounded
// to float the last term is gone, the gain is exactly 0 and the tie keeps the text whole. One
// rounding instead of two leaves n²·2^-46.
float gain(std::size_t length) {
  constexpr float kStep = 1.0F / 8388608.0F;  // 2^-23
  const float n = static_cast<float>(length % 16 + 1);
  const float likelihood = 1.0F + n * kStep;
  const float whole = -(1.0F + 2.0F * n * kStep);
  return likelihood * likelihood + whole;
}

}  // namespace

int main(int argc, char** argv) {
  return planted::serve(
      argc, argv, "fma-tie", [](const planted::Encode& encode, std::string_view text) {
        if (gain(text.size()) > 0.0F) {
          const std::size_t half = text.size() / 2;
          return planted::joined(encode(text.substr(0, half)), encode(text.substr(half)));
        }
        return encode(text);
      });
}
