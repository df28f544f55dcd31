// Starts scripts/s3-server.sh on free ports.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { freePorts } from './free-ports.mjs';
import { testServers } from './unpacked-servers.mjs';

const SCRIPT = join(import.meta.dirname, 's3-server.sh');
const PORTS = 10;
const ATTEMPTS = 3;

/**
 * @param home a directory with a short path, in which the server creates its own. The server exits when its standard input
 * ends.
 */
export async function startS3Server(home) {
  if (!testServers.isInstalled)
    throw new Error('the S3 server is not installed: run scripts/test-servers.sh');
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(home);
    } catch (error) {
      if (attempt === ATTEMPTS) throw error; // another program may have taken a port
    }
  }
}

async function startOnce(home) {
  const port = await freePorts(PORTS);
  const directory = await mkdtemp(join(home, 's'));
  const [accessKey, secretKey] = ['test-access', 'test-secret-0123456789'];
  const child = spawn('bash', [SCRIPT, directory, String(port), accessKey, secretKey], {
    env: { ...process.env, ...testServers.environment },
  });
  let errors = '';
  child.stderr.on('data', (chunk) => (errors += String(chunk)));
  child.stdin.on('error', () => undefined);
  const ended = once(child, 'exit');
  const [first] = await Promise.race([once(child.stdout, 'data'), ended]);
  if (String(first).trim() !== 'ready') throw new Error(`the S3 server did not start: ${errors}`);
  const stop = async () => {
    child.stdin.end();
    await ended;
  };
  return { child, stop, address: { endpoint: `http://127.0.0.1:${port}`, accessKey, secretKey } };
}
