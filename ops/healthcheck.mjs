// Exits with 0 when the service in this container is alive.
import { isAlive } from './health.mjs';

process.exit((await isAlive(process.env, 2_500)) ? 0 : 1);
