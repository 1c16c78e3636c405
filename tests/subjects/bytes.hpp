// What the planted subjects of the platform share: the tokenizer of `bytes.json`, whose ids are the
// bytes of the text, with one defect around `encode`.
//
// The platform shows in the code around a tokenizer as well as in a whole one, and so small a
// subject is built in seconds for lanes that no other subject has.
#pragma once

#include <string>
#include <string_view>
#include <tokparity/probe.hpp>

namespace bytes {

using tokparity::Ids;

/// The case of crash-on-arch, hang-on-char and out-of-bounds-read: "a " and U+1FAE8, the case
/// `new-emoji` of the bundled corpora, which is not in `smoke`.
constexpr std::string_view kOneCase = "a \xF0\x9F\xAB\xA8";

/// Bytes from which a text is long; no case of `smoke` is.
constexpr std::size_t kLong = 96;

inline Ids encode(std::string_view text) {
  Ids ids;
  for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
  return ids;
}

/// Serves the bytes as `name`, after `defect(text)`, a text or a std::string.
template <class Defect>
int serve(int argc, char** argv, const char* name, Defect defect) {
  return tokparity::serve(argc, argv, [=](const std::string&, const auto&) {
    tokparity::Subject subject;
    subject.name = name;
    subject.version = "1";
    subject.encode = [=](std::string_view text) { return encode(defect(text)); };
    return subject;
  });
}

}  // namespace bytes
