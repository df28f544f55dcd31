// Exits with 0 when the service in this container is alive. Readiness is not checked, because container engines
// restart on failure.
const { ok } = await fetch(`http://127.0.0.1:${process.env.PORT ?? 8787}/health`);
process.exit(ok ? 0 : 1);
