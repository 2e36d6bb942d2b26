//! The Model Context Protocol over standard input and output. The only file that knows `rmcp`: it reads
//! and writes messages, and leaves to [`Tools`] what they mean.
//!
//! Whatever comes in is answered or ignored; nothing that a client sends ends this program but the end
//! of its input, and a first message that begins no session.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, ServerInitializeError, ServiceExt};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;
use rmcp::{ServerHandler, service};

use super::mcp_tools::{Said, Tools};
use crate::error::{CommandError, Result};
use sm_agents::own_tools::definitions;

/// A document of the largest size has at most this length as JSON.
pub const LONGEST_LINE: usize = 32 << 20;
/// Calls that are answered at the same time; more wait for their turn.
const MOST_AT_ONCE: usize = 64;
/// The tools keep to a shorter time themselves; this is for what they did not think of.
const LONGEST_CALL: Duration = Duration::from_millis(1_950);

const INSTRUCTIONS: &str = "Tools of sm, the session manager that this session runs in. When the context fills up, or when you are told to hand off: call `handoff` with a document of all that the next context needs (`handoff_template` shows what belongs in it), then end your turn.";

/// Serves until the input ends.
pub fn serve(tools: Tools) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(MOST_AT_ONCE)
        .build()
        .map_err(|error| CommandError::not_usable(format!("cannot serve: {error}")))?;
    let served = runtime.block_on(run(Server {
        tools: Arc::new(tools),
    }));
    // a call that still waits for somebody is not waited for
    runtime.shutdown_background();
    served
}

async fn run(server: Server) -> Result<()> {
    let (input, output) = stdio_pipes();
    let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(LONGEST_LINE);
    let running = match server.serve(transport).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => {
            let said: String = error.to_string().chars().take(200).collect();
            return Err(
                CommandError::usage(format!("this is not a client of MCP: {said}")).hint(
                    "agents start `sm mcp` by themselves; a person uses `sm handoff`, `sm context`, `sm archive`",
                ),
            );
        }
    };
    match running.waiting().await {
        Ok(service::QuitReason::Closed | service::QuitReason::Cancelled) => Ok(()),
        Ok(_) => Ok(()),
        Err(error) => Err(CommandError::not_usable(format!("serving ended: {error}"))),
    }
}

struct Server {
    tools: Arc<Tools>,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_instructions(INSTRUCTIONS);
        info.server_info = Implementation::new("sm", env!("CARGO_PKG_VERSION"));
        info
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> std::result::Result<ListToolsResult, ErrorData> {
        let tools = definitions().map(|definition| {
            let schema = definition.schema.as_object().cloned().unwrap_or_default();
            let mut hints = ToolAnnotations::default();
            hints.read_only_hint = Some(definition.only_reads);
            hints.open_world_hint = Some(false);
            let mut tool = Tool::new(definition.name, definition.description, Arc::new(schema));
            tool.annotations = Some(hints);
            tool
        });
        Ok(ListToolsResult::with_all_items(tools.into()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> std::result::Result<CallToolResponse, ErrorData> {
        let name = request.name.into_owned();
        if !definitions().iter().any(|known| known.name == name) {
            return Err(ErrorData::invalid_params(
                "there is no such tool: tools/list names them",
                None,
            ));
        }
        let arguments = request.arguments.unwrap_or_default();
        let tools = Arc::clone(&self.tools);
        let called = name.clone();
        let asked = tokio::task::spawn_blocking(move || tools.call(&called, arguments.into()));
        let said = match tokio::time::timeout(LONGEST_CALL, asked).await {
            Ok(Ok(said)) => said,
            Ok(Err(_)) => Said::failed("this call was given up: call the tool again"),
            Err(_) => Tools::too_slow(&name),
        };
        let content = vec![ContentBlock::text(said.text)];
        Ok(match said.is_failure {
            false => CallToolResult::success(content),
            true => CallToolResult::error(content),
        }
        .into())
    }
}
