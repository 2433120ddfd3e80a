//! Starts `ioplan lsp`, from the PATH of the project.

use zed_extension_api::{self as zed, LanguageServerId, Result};

struct Ioplan;

impl zed::Extension for Ioplan {
    fn new() -> Self {
        Ioplan
    }

    fn language_server_command(
        &mut self,
        _: &LanguageServerId,
        worktree: &zed::Worktree,
    ) -> Result<zed::Command> {
        let command = worktree
            .which("ioplan")
            .ok_or("ioplan is not on the PATH: pip install 'ioplan[lsp]'")?;
        Ok(zed::Command {
            command,
            args: vec!["lsp".to_string()],
            env: worktree.shell_env(),
        })
    }
}

zed::register_extension!(Ioplan);
