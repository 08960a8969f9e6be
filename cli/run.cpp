// `tokitai run`: one call of one operator over NumPy files. In order: match the arguments with the contract, read
// the files' headers, take memory, check the contract, read the data, run, write all outputs together.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/printable.h"
#include "cli/commands.h"
#include "cli/device_choice.h"
#include "cli/output_files.h"
#include "cli/request.h"
#include "cli/tensors.h"
#include "tokitai/true_error.h"

namespace tokitai::cli {
namespace {

constexpr const char* kFooter =
    R"(Files are NumPy's .npy with elements <f2, <f4, <i4, <i8, or <u2 for bf16, in C order. An operand that is
worked on in place is read with --in and written with --out, to the same file if you like. For a list of
tensors (adamw.step, gradient.norm) give each --in and --out once per tensor, in the same order; a tensor may have any
shape, and operands of shape [1] are given once.
Files are written together or, on any error, not at all. tokitai ops OPERATOR says what an operator takes.

Examples:
  tokitai run softmax.forward --in x=x.npy --out y=y.npy --report y.html
  tokitai run layernorm.forward --in x=x.npy gamma=gamma.npy beta=beta.npy --set eps=1e-5 --out y=y.npy
  tokitai run gemm.forward --in a=a.npy --in b=b.npy --out c:f32=c.npy
  tokitai run adamw.step --in theta=w.npy m=m.npy v=v.npy grad=g.npy --set t=1 --out theta=w.npy m=m.npy v=v.npy)";

// Only what is read and never written can be the cause of a skipped call: the first such operand of its tensors, or the
// last that the call has once.
std::string skipped_by(const Contract& contract, const Outcome& outcome) {
  std::string_view tensors, once;
  for (const OperandSpec& spec : contract.operands) {
    if (spec.role != Role::in) continue;
    if (contract.has_once(spec))
      once = spec.name;
    else if (tensors.empty())
      tensors = spec.name;
  }
  return outcome.skipped_tensor < 0
             ? std::string(once)
             : fmt::format("{}[{}] of tensor {}", tensors, outcome.skipped_position, outcome.skipped_tensor);
}

void print_text(const Request& request, const Tensors& tensors, const Outcome& outcome) {
  if (outcome.skipped)
    fmt::print("skipped: {} is not finite; nothing was changed\n", skipped_by(*request.contract, outcome));
  for (const auto& [operand, tensor, view, shape] : tensors.outputs())
    fmt::print("wrote {} {} [{}] to {}\n", request.label(operand, tensor), name_of(view.type), fmt::join(shape, ", "),
               base::one_line(request.outputs[operand][tensor].path));
}

Json result_json(const Request& request, const Tensors& tensors, const Outcome& outcome, const Device& device,
                 double milliseconds) {
  Json outputs = Json::array();
  for (const auto& [operand, tensor, view, shape] : tensors.outputs()) {
    Json output = {{"name", request.contract->operands[operand].name},
                   {"type", name_of(view.type)},
                   {"shape", shape},
                   {"file", request.outputs[operand][tensor].path}};
    if (request.contract->list) output["tensor"] = tensor;
    outputs.push_back(std::move(output));
  }
  Json document = {{"operator", request.contract->name},
                   {"device", device.name()},
                   {"device_description", device.description()},
                   {"milliseconds", milliseconds},
                   {"skipped", outcome.skipped}};
  if (outcome.skipped && outcome.skipped_tensor >= 0)
    document["first_not_finite"] = {{"tensor", outcome.skipped_tensor}, {"position", outcome.skipped_position}};
  document["outputs"] = std::move(outputs);
  return document;
}

// A report's form is that of its file's name.
Result<std::string> report_text(const Report& report, const std::string& path) {
  const std::string suffix = std::filesystem::path(path).extension().string();
  if (suffix == ".json") return report.json();
  if (suffix == ".md") return report.markdown();
  if (suffix == ".html") return report.html();
  return Status::invalid(fmt::format("--report {}: its name must end in .json, .md or .html", path));
}

Status write_outputs(const Request& request, const Tensors& tensors, std::vector<OutputFile> files) {
  for (const auto& [operand, tensor, view, shape] : tensors.outputs()) {
    const NpyHeader header{file_type(view.type), shape, 0};
    files.push_back({request.label(operand, tensor), request.outputs[operand][tensor].destination,
                     npy_header_text(header), view.data, header.bytes()});
  }
  return write_all(files);
}

// Runs the call; where a report is wanted, it is one of the files to write.
Status run_call(Device& device, Call& call, const std::string& report_path, Outcome& outcome,
                std::vector<OutputFile>& files, Status& compared) {
  if (report_path.empty()) return device.run(call, &outcome);
  auto report = run_with_report(device, call, {.measure = true_error});
  if (!report.ok()) return report.status();
  outcome = report->outcome;
  auto text = report_text(report.value(), report_path);
  if (!text.ok()) return text.status();
  auto there = destination(report_path);
  if (!there.ok()) return there.status();
  files.push_back({"", there.value(), std::move(text).value()});
  if (!report->equal())
    compared = {Code::check_failed, fmt::format("{}: {} of {} outputs differ from the reference: {}", report->op,
                                                report->differing, report->compared, report->first_difference)};
  else if (!report->within_bound())
    compared = {Code::check_failed, fmt::format("{}: {}", report->op, report->error->first_exceeded)};
  return {};
}

// A flag takes all the words behind it, NAME=FILE each; the one without = among them is the operator.
void find_operator(RunArguments& arguments) {
  for (std::vector<std::string>* words : {&arguments.in, &arguments.set, &arguments.out}) {
    const auto word =
        std::find_if(words->begin(), words->end(), [](const auto& w) { return w.find('=') == std::string::npos; });
    if (!arguments.op.empty() || word == words->end()) continue;
    arguments.op = *word;
    words->erase(word);
  }
}

Status run(const RunArguments& arguments, const DeviceChoice& choice, const std::string& report_path, bool json) {
  if (arguments.op.empty()) return Status::invalid("OPERATOR is required (see tokitai run --help)");
  FileUses uses;
  const auto request = parse_request(arguments, uses);
  if (!request.ok()) return request.status();
  if (!report_path.empty()) {
    if (auto form = report_text({}, report_path); !form.ok()) return form.status();
    if (auto there = uses.writes("--report", report_path); !there.ok()) return there.status();
  }
  auto device = choice.open();
  if (!device.ok()) return device.status();
  auto tensors = Tensors::make(request.value());
  if (!tensors.ok()) return tensors.status();

  // The contract is checked here, before data is read; what a call needs beside its operands must fit too.
  const auto workspace = device->workspace(tensors->call());
  if (!workspace.ok()) return workspace.status();
  if (workspace.value() > main_memory() - tensors->bytes())
    return Status::invalid(
        fmt::format("{}: the operands take {} bytes (most of it {}) and scratch memory {}; this machine has {}",
                    arguments.op, tensors->bytes(), tensors->largest(), workspace.value(), main_memory()));
  if (Status s = tensors->read_data(); !s.ok()) return s;

  Outcome outcome;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<OutputFile> files;
  Status compared;
  if (Status s = run_call(device.value(), tensors->call(), report_path, outcome, files, compared); !s.ok()) return s;
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - begin;

  if (Status s = write_outputs(request.value(), tensors.value(), std::move(files)); !s.ok())
    return Status(s.code(), fmt::format("{}: {}", arguments.op, s.message()));
  if (json)
    print_json(result_json(request.value(), tensors.value(), outcome, device.value(), elapsed.count()));
  else
    print_text(request.value(), tensors.value(), outcome);
  return compared;
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("run", "Run an operator over NumPy files");
  struct Arguments {
    RunArguments run;
    DeviceChoice device;
    std::string report;
    bool json = false;
  };
  auto arguments = std::make_shared<Arguments>();
  RunArguments& run_arguments = arguments->run;
  command->add_option("OPERATOR", run_arguments.op, "The operator, such as layernorm.forward")->option_text("REQUIRED");
  const auto repeated = [&](const char* flag, std::vector<std::string>& values, const char* form, const char* text) {
    command->add_option(flag, values, text)->type_name(form)->check([](const std::string& value) {
      return value.starts_with("--") ? "its value is missing before " + value : std::string();
    });
  };
  repeated("--in", run_arguments.in, "NAME=FILE.npy", "An operand to read");
  repeated("--set", run_arguments.set, "NAME=VALUE", "An option of the operator");
  repeated("--out", run_arguments.out, "NAME[:TYPE]=FILE.npy",
           "An operand to write; TYPE f32 for unrounded, f16 or bf16 for rounded, where both are allowed");
  command->add_option("--dtype", run_arguments.dtype, "Storage type, f16, bf16 or f32; needed for bf16 (files of <u2)")
      ->type_name("TYPE");
  arguments->device.add_to(*command);
  command
      ->add_option("--report", arguments->report,
                   "Also run the reference, compare every output bit, and write a report of this call to FILE")
      ->type_name("FILE.json|.md|.html");
  command->add_flag("--json", arguments->json, "Print JSON");
  command->footer(kFooter);
  command->callback([arguments, &exit_code] {
    find_operator(arguments->run);
    report(run(arguments->run, arguments->device, arguments->report, arguments->json), exit_code);
  });
}

}  // namespace tokitai::cli
