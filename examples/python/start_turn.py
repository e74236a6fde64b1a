import asyncio, json, sys, urllib.parse
from temporalio.client import Client
from temporalio.envconfig import ClientConfig


async def main(app, user, session, message_id, message):
    names = {"app": app, "userId": user, "sessionId": session}
    workflow_id = "/".join(urllib.parse.quote(name, safe="!'()*").replace("~", "%7E") for name in names.values())
    client = await Client.connect(**ClientConfig.load_client_connect_config())
    start = {"v": 1, **names, "messageId": message_id, "message": message}
    turn = await client.start_workflow("agentTurn", start, id=workflow_id, task_queue="holdfast")
    print(json.dumps(await turn.result()))


asyncio.run(main(*sys.argv[1:]))
