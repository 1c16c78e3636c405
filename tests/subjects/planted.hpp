// What the planted subjects share: the bundled reference tokenizer, with one defect around
// `encode`.
//
// Each subject is right but for its defect, so that a run which names anything else is wrong. Only
// `encode` is offered: one operation shows every defect, and no other adds to it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tokparity/probe.hpp>
#include <vector>

#include "tokenizer.hpp"
#include "utf8.hpp"

namespace planted {

using tokparity::Ids;
using Encode = std::function<Ids(std::string_view)>;

/// The case that crash-on-one, hang-on-one and answer-too-many fall over: "a " and U+1FAE8, the
/// case `new-emoji` of the bundled corpora, which is not in `smoke`.
constexpr std::string_view kOneCase = "a \xF0\x9F\xAB\xA8";

inline tokparity::Subject healthy(const std::string& name, const std::string& path) {
  const auto tokenizer = std::make_shared<reference::Tokenizer>(path, reference::Options{});
  tokparity::Subject subject;
  subject.name = name;
  subject.version = "1";
  subject.encode = [=](std::string_view text) { return tokenizer->encode(text, false); };
  return subject;
}

/// Serves the reference as `name`, its encode wrapped: `defect(encode, text)` gives the ids.
template <class Defect>
int serve(int argc, char** argv, const char* name, Defect defect) {
  return tokparity::serve(argc, argv, [=](const std::string& path, const auto&) {
    tokparity::Subject subject = healthy(name, path);
    subject.encode = [defect, encode = subject.encode](std::string_view text) {
      return defect(encode, text);
    };
    return subject;
  });
}

/// The ids of two texts, laid end to end.
inline Ids joined(Ids first, const Ids& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace planted
