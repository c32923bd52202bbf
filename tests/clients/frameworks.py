"""Agents written with a framework, each the shortest program that its documentation suggests.

PYTHON_OF_THE_FRAMEWORK frameworks.py NAME MODEL_URL SERVER [SECONDS]

SERVER is a command or a URL, SECONDS the framework's limit for a call; without it the framework's own default holds,
except for OpenAI Agents, which gives a call five seconds.
"""

from __future__ import annotations

import asyncio
import os
import sys

PROMPT = "Please follow your script."
TURNS = 60


async def openai_agents(model: str, server: str, seconds: float | None) -> str:
    from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
    from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=f"{model}/v1", api_key="none")
    limit = {"client_session_timeout_seconds": seconds or 30}
    if server.startswith("http"):
        asker = MCPServerStreamableHttp({"url": server}, **limit)
    else:
        asker = MCPServerStdio({"command": server, "args": []}, **limit)
    async with asker:
        chosen = OpenAIChatCompletionsModel("stand-in", client)
        told = {"failure_error_function": lambda context, error: str(error)}  # see docs/frameworks.md
        agent = Agent("agent", model=chosen, mcp_servers=[asker], mcp_config=told)
        return (await Runner.run(agent, PROMPT, max_turns=TURNS)).final_output


async def pydantic_ai(model: str, server: str, seconds: float | None) -> str:
    from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    transport = StreamableHttpTransport(server) if server.startswith("http") else StdioTransport(server, [])
    limit = {"read_timeout": seconds} if seconds else {}
    tools = MCPToolset(transport, init_timeout=60, max_retries=TURNS, **limit)
    chosen = OpenAIChatModel("stand-in", provider=OpenAIProvider(base_url=f"{model}/v1", api_key="none"))
    agent = Agent(chosen, toolsets=[tools])
    async with agent:
        return (await agent.run(PROMPT)).output


async def langchain(model: str, server: str, seconds: float | None) -> str:
    from langchain.agents import create_agent
    from langchain_mcp_adapters.client import MultiServerMCPClient
    from langchain_openai import ChatOpenAI

    where = {"transport": "stdio", "command": server, "args": []}
    if server.startswith("http"):
        where = {"transport": "streamable_http", "url": server}
    tools = await MultiServerMCPClient({"asker": where}).get_tools()
    chosen = ChatOpenAI(model="stand-in", base_url=f"{model}/v1", api_key="none")
    agent = create_agent(chosen, tools)
    said = await agent.ainvoke({"messages": [("user", PROMPT)]}, {"recursion_limit": 2 * TURNS})
    return said["messages"][-1].text


async def mcp_use(model: str, server: str, seconds: float | None) -> str:
    from langchain_openai import ChatOpenAI
    from mcp_use import MCPAgent, MCPClient

    where = {"url": server} if server.startswith("http") else {"command": server, "args": []}
    client = MCPClient({"mcpServers": {"asker": where}})
    chosen = ChatOpenAI(model="stand-in", base_url=f"{model}/v1", api_key="none")
    try:
        return await MCPAgent(llm=chosen, client=client, max_steps=TURNS).run(PROMPT)
    finally:
        await client.close_all_sessions()


async def google_adk(model: str, server: str, seconds: float | None) -> str:
    from google.adk.agents import LlmAgent
    from google.adk.runners import InMemoryRunner
    from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams, StreamableHTTPConnectionParams
    from google.genai import types
    from mcp import StdioServerParameters

    os.environ |= {"GOOGLE_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": model}
    limit = {"timeout": seconds or 30}
    if server.startswith("http"):
        connection = StreamableHTTPConnectionParams(url=server, **limit)
    else:
        connection = StdioConnectionParams(server_params=StdioServerParameters(command=server), **limit)
    tools = McpToolset(connection_params=connection)
    agent = LlmAgent(name="agent", model="gemini-2.5-flash", tools=[tools])
    runner = InMemoryRunner(agent=agent, app_name="app")
    session = await runner.session_service.create_session(app_name="app", user_id="u")
    prompt = types.Content(role="user", parts=[types.Part(text=PROMPT)])
    said = ""
    async for event in runner.run_async(user_id="u", session_id=session.id, new_message=prompt):
        for part in event.content.parts if event.content else ():
            said += part.text or ""
    await tools.close()
    return said


async def fast_agent(model: str, server: str, seconds: float | None) -> str:
    from fast_agent import FastAgent

    fast = FastAgent("agent", config_path="fastagent.config.yaml", parse_cli_args=False)

    @fast.agent(servers=["asker"])
    async def talk() -> str:
        async with fast.run() as agent:
            return await agent.send(PROMPT)

    return await talk()


if __name__ == "__main__":
    name, model, server, *rest = sys.argv[1:]
    run = globals()[name.replace("-", "_")]
    print(asyncio.run(run(model, server, float(rest[0]) if rest else None)))
