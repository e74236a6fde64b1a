// Whether the worker or gateway of this container is ready: it, its Temporal server and its store.
const [port] = process.argv.slice(2);
const { ok } = await fetch(`http://127.0.0.1:${port}/v1/ready`);
process.exit(ok ? 0 : 1);
