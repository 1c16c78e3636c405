#include "../planted.hpp"
#include "unicode.hpp"

namespace {

constexpr int kCap = 6;

// Where a run of letters and marks has its seventh mark a new word begins.
std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> found;
  std::size_t begin = 0;
  int marks = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = reference::utf8::well_formed_length(text, at);
    const reference::unicode::Mask kind =
        length == 0 ? 0 : reference::unicode::class_mask(reference::utf8::decode(text, at).code);
    if (kind == reference::unicode::mask_of(reference::unicode::kMark)) {
      if (marks == kCap) {
        found.push_back(text.substr(begin, at - begin));
        begin = at;
        marks = 0;
      }
      ++marks;
    } else if ((kind & reference::unicode::kLetters) == 0) {
      marks = 0;
    }
    at += length == 0 ? 1 : length;
  }
  found.push_back(text.substr(begin));
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  return planted::serve(argc, argv, "marks-capped",
                        [](const planted::Encode& encode, std::string_view text) {
                          planted::Ids ids;
                          for (const std::string_view word : words(text))
                            ids = planted::joined(std::move(ids), encode(word));
                          return ids;
                        });
}
