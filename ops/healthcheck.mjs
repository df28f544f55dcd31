// Ends with 0 when the service of this container lives. Whether it is ready is not asked: engines restart on this.
const { ok } = await fetch(`http://127.0.0.1:${process.env.PORT ?? 8787}/health`);
process.exit(ok ? 0 : 1);
