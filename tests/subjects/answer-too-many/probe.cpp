#include <iostream>

#include "../planted.hpp"

// Without serve(), which could not be made to do this. Its parts speak for it all the same.
int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const tokparity::Subject subject = planted::healthy("answer-too-many", argv[1]);
  std::cout << tokparity::detail::hello(subject, std::chrono::microseconds(0), nullptr, "")
            << std::flush;
  tokparity::detail::Answerer answerer(subject);
  const std::string one_case = "encode 6120f09faba8";
  for (std::string line; std::getline(std::cin, line);) {
    const std::string_view answer = answerer.answer(line);
    std::cout << answer;
    if (line == one_case) std::cout << answer;
    std::cout << std::flush;
  }
}
