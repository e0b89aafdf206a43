// Starts `metalloid lsp` for Metal files and for Python files, whose strings may be kernels.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const [command, ...args] = workspace.getConfiguration("metalloid").get("command");
  const documentSelector = [{ language: "metal" }, { language: "python" }];
  client = new LanguageClient("metalloid", "metalloid", { command, args }, { documentSelector });
  return client.start();
};

exports.deactivate = () => client?.stop();
