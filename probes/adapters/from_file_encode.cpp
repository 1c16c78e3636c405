// The probe of any C++ tokenizer that loads a file and encodes a string, by defines alone:
//   TOKPARITY_HEADER  its header, with its quotes, and TOKPARITY_TYPE, its class
//   TOKPARITY_LOAD    its making from `path`, a value or a pointer; else TYPE::from_file(path)
//   TOKPARITY_ENCODE  integers from `tokenizer` and string `text`; else tokenizer.encode(text)
#define TOKPARITY_WORDS(words) #words
#define TOKPARITY_TEXT(words) TOKPARITY_WORDS(words)
#include TOKPARITY_HEADER
#include <memory>
#include <tokparity/probe.hpp>
#ifndef TOKPARITY_LOAD
#define TOKPARITY_LOAD TOKPARITY_TYPE::from_file(path)
#endif
#ifndef TOKPARITY_ENCODE
#define TOKPARITY_ENCODE tokenizer.encode(text)
#endif
template <class T>
auto inside(T& loaded, int) -> decltype(*loaded) {
  return loaded ? *loaded : throw std::runtime_error(TOKPARITY_TEXT(TOKPARITY_LOAD) " gave null");
}
template <class T>
T& inside(T& loaded, long) {
  return loaded;
}

int main(int argc, char** argv) {
  return tokparity::serve(argc, argv, [](const std::string& path, const std::vector<std::string>&) {
    const auto owner = std::make_shared<decltype(TOKPARITY_LOAD)>(TOKPARITY_LOAD);
    auto& tokenizer = inside(*owner, 0);
    tokparity::Subject subject;
    subject.name = TOKPARITY_TEXT(TOKPARITY_TYPE);
    subject.encode = [owner, &tokenizer](std::string_view bytes) {
      const std::string text(bytes);
      tokparity::Ids ids;
      for (const auto id : TOKPARITY_ENCODE) {
        const auto wide = static_cast<long long>(id);
        if (wide < 0 || wide > 0xFFFFFFFF) throw std::range_error("id " + std::to_string(wide));
        ids.push_back(static_cast<std::uint32_t>(wide));
      }
      return ids;
    };
    return subject;
  });
}
