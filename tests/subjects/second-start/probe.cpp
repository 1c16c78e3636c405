#include <csignal>
#include <fstream>

#include "../bytes.hpp"

int main(int argc, char** argv) {
  return tokparity::serve(argc, argv, [](const std::string&, const auto& options) {
    // The first option is the path of a file in which it remembers that it has been started; with
    // a second one it is the first start that goes wrong, and by a crash.
    bool again = false;
    if (!options.empty()) {
      again = std::ifstream(options.front()).good();
      std::ofstream{options.front()};
    }
    const bool dies = options.size() > 1 && !again;
    const bool errs = options.size() == 1 && again;
    tokparity::Subject subject;
    subject.name = "second-start";
    subject.version = "1";
    subject.encode = [=](std::string_view text) {
      if (text != bytes::kOneCase) return bytes::encode(text);
      if (dies) std::raise(SIGSEGV);
      return bytes::encode(errs ? text.substr(1) : text);
    };
    return subject;
  });
}
