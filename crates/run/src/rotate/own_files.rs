//! What an agent needs of sm's before it starts: its tools, and Claude Code's settings on disk.

use std::path::Path;

use sm_agents::LaunchRequest;
use sm_core::AgentKind;

use super::session::Session;
use super::settings;

/// Writes it, and completes the request.
pub fn prepare(session: &Session, request: &mut LaunchRequest) -> Result<(), String> {
    let setup = &session.setup;
    let (cwd, home) = (setup.cwd.to_string_lossy(), setup.agent_home.as_deref());
    let given = sm_daemon::own_tools(&sm_daemon::Launching {
        agent: setup.agent,
        args: &request.args,
        cwd: &cwd,
        home,
        hook_program: &setup.hook_program,
        allowed: setup.permissions,
    });
    match given {
        Ok(tools) => request.tools = Some(tools),
        Err(why) => session.log(&format!("no tools of sm's own: {why}")),
    }
    let env: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let given = request.tools.as_ref();
    session.lock().how =
        sm_daemon::how_to_hand_over(setup.agent, given, &setup.hook_program, &env, &cwd);
    if setup.agent != AgentKind::Claude {
        return Ok(());
    }
    let folder = setup.folder.path().to_string_lossy();
    let tools = request.tools.is_some();
    // The settings are kept and shared: what holds for this run alone is not in them.
    sm_daemon::claude_settings(request, &cwd, home, &[])?;
    if setup.permissions {
        let allow = sm_daemon::own_permissions(&setup.hook_program, &[&folder], &env, &cwd, tools);
        let allow = sm_agents::claude::permissions::argument(&allow);
        request.args.splice(0..0, allow);
    }
    // At its end Claude names the file in the line that resumes the conversation.
    match settings::keep(&setup.paths, Path::new(&request.settings_path)) {
        Ok(path) => request.settings_path = path.to_string_lossy().into_owned(),
        Err(error) => session.log(&format!("the settings are not kept: {error}")),
    }
    let var = |key: &str| std::env::var(key).ok();
    let window = sm_daemon::claude_compact_window(&request.args, &cwd, home, var);
    session.lock().compact_window = window;
    Ok(())
}
