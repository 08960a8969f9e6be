// Device text broken on purpose: the tables of changes, and headers with one of them made.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <list>
#include <string>
#include <vector>

#include "machines/device/plan.h"

namespace tokitai::lockstep {

struct Fault {
  std::string name, file, problem, on = "lockstep", plan = "0", rows, caught, old_text, new_text;
  std::string claim, unseen;                   // of index arithmetic: proofs/tests/faults.txt
  std::string kernel, old_kernel, new_kernel;  // what is broken in another header along with it
  bool refused = false;
  std::vector<std::string> unknown;  // lines that are none of these

  std::string setting() const {
    return fmt::format("{} ({}, plan {}){}{}", problem, on, plan, rows, refused ? " refused" : "");
  }
};

inline void add_line(std::string& text, const std::string& line) {
  if (!text.empty()) text += '\n';
  text += line;
}
inline std::vector<Fault> read_faults(const char* path) {
  std::ifstream file(path);
  std::vector<Fault> faults;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t colon = line.find(": ");
    const std::string key = line.substr(0, colon);
    if (key == "fault" || faults.empty()) faults.emplace_back();
    Fault& f = faults.back();
    if (key == "fault")
      f.name = line.substr(colon + 2);
    else if (line.starts_with("- "))
      add_line(f.old_text, line.substr(2));
    else if (line.starts_with("+ "))
      add_line(f.new_text, line.substr(2));
    else if (line.starts_with("k- "))
      f.old_kernel += line.substr(3);
    else if (line.starts_with("k+"))
      f.new_kernel += line.substr(std::min<std::size_t>(3, line.size()));
    else if (key == "kernel")
      f.kernel = line.substr(colon + 2);
    else if (key == "claim")
      f.claim = line.substr(colon + 2);
    else if (key == "unseen")
      f.unseen = line.substr(colon + 2);
    else if (key == "file")
      f.file = line.substr(colon + 2);
    else if (key == "problem")
      f.problem = line.substr(colon + 2);
    else if (key == "on")
      f.on = line.substr(colon + 2);
    else if (key == "plan")
      f.plan = line.substr(colon + 2);
    else if (key == "rows")
      f.rows = line.substr(colon + 2);
    else if (line == "refused: yes")
      f.refused = true;
    else if (key == "caught")
      f.caught = line.substr(colon + 2);
    else
      f.unknown.push_back(line);
  }
  return faults;
}

// How often `old_text` stands in a text, white space not counted, and the text with the first of them replaced.
struct Replaced {
  int times = 0;
  std::string text;
};
inline Replaced replace(std::string_view text, std::string_view old_text, std::string_view new_text) {
  std::string bare_text, bare_old;
  std::vector<std::size_t> place;  // in the text, of each character of bare_text
  const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t i = 0; i < text.size(); ++i)
    if (!blank(text[i])) {
      bare_text += text[i];
      place.push_back(i);
    }
  std::copy_if(old_text.begin(), old_text.end(), std::back_inserter(bare_old), [&](char c) { return !blank(c); });
  Replaced out;
  if (bare_old.empty()) return out;
  for (std::size_t at = bare_text.find(bare_old); at != std::string::npos; at = bare_text.find(bare_old, at + 1)) {
    if (out.times++ > 0) continue;
    const std::size_t begin = place[at], end = place[at + bare_old.size() - 1] + 1;
    out.text = fmt::format("{}{}{}", text.substr(0, begin), new_text, text.substr(end));
  }
  return out;
}

// What a text is made of, one of its headers broken or none.
struct Headers {
  std::vector<device::Text> all;
  std::list<std::string> broken;
  int times = 1;  // the old text stood there

  Headers(std::vector<device::Text> from, const Fault* fault) : all(std::move(from)) {
    if (fault == nullptr) return;
    if (fault->kernel.empty())
      change(fault->file, fault->old_text, fault->new_text);
    else
      change(fault->kernel, fault->old_kernel, fault->new_kernel);
    // Where an index is written out beside the proved function, the broken function is taken.
    if (!fault->claim.empty()) change("machines/lockstep/alias.h", "lockstep::as_proved(written == proved);", ";");
  }
  void change(const std::string& header, const std::string& old_text, const std::string& new_text) {
    int here = 0;
    for (device::Text& text : all) {
      if (text.name != header) continue;
      Replaced replaced = replace(text.text, old_text, new_text);
      here = replaced.times;
      broken.push_back(std::move(replaced.text));
      text.text = broken.back();
    }
    if (here != 1) times = here;
  }
  Headers(const Headers&) = delete;
  Headers& operator=(const Headers&) = delete;
};

}  // namespace tokitai::lockstep
