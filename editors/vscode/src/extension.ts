// Starts `ioplan lsp`, and starts it again when its command changes.

import * as vscode from "vscode";
import { LanguageClient, LanguageClientOptions, ServerOptions } from "vscode-languageclient/node";

let client: LanguageClient | undefined;

function settings(): Record<string, unknown> {
  const known = vscode.workspace.getConfiguration("ioplan");
  return { profile: known.get("profile") };
}

async function start(output: vscode.OutputChannel): Promise<void> {
  const known = vscode.workspace.getConfiguration("ioplan");
  const [command, ...args] = known.get<string[]>("command", ["ioplan", "lsp"]);
  const server: ServerOptions = { command, args };
  const options: LanguageClientOptions = {
    documentSelector: [{ language: "ioplan" }],
    initializationOptions: settings(),
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/*.ioplan") },
    outputChannel: output,
  };
  client = new LanguageClient("ioplan", "ioplan", server, options);
  await client.start();
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const output = vscode.window.createOutputChannel("ioplan");
  const restart = async (): Promise<void> => {
    await client?.stop();
    await start(output);
  };
  context.subscriptions.push(
    output,
    vscode.commands.registerCommand("ioplan.restart", restart),
    vscode.workspace.onDidChangeConfiguration(async (change) => {
      if (change.affectsConfiguration("ioplan.command")) {
        await restart();
      } else if (change.affectsConfiguration("ioplan")) {
        await client?.sendNotification("workspace/didChangeConfiguration", {
          settings: { ioplan: settings() },
        });
      }
    }),
  );
  await start(output);
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}
