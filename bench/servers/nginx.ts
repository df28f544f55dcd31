import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bench } from '../bench.js';
import { freePort } from '../free-port.js';
import { Client } from '../measure/client.js';
import { familyOf } from '../measure/processes.js';
import { fetchEach, type Keeper } from './keepers.js';
import { startProgram } from './program.js';

/** scripts/unpacked-servers.mjs defines where servers are unpacked. It is not part of the build. */
const UNPACKED = '../../../scripts/unpacked-servers.mjs';

interface TestServers {
  readonly isInstalled: boolean;
  readonly environment: NodeJS.ProcessEnv;
}

/** WebDAV: plain files without fsync, history or accounts. */
export async function nginx(bench: Bench): Promise<Keeper> {
  const { testServers } = (await import(UNPACKED)) as { testServers: TestServers };
  if (!testServers.isInstalled) throw new Error('nginx is not installed, see scripts/test-servers.sh');
  const directory = await bench.place('nginx');
  const port = await freePort();
  await writeFile(join(directory, 'nginx.conf'), configuration(directory, port));
  const program = bench.ending(
    await startProgram(
      ['nginx', '-p', directory, '-c', 'nginx.conf', '-e', 'stderr'],
      { env: { ...process.env, ...testServers.environment } },
      /start worker process/,
    ),
  );
  const client = new Client(`http://127.0.0.1:${port}`);
  let places = 0;
  return {
    name: 'nginx WebDAV',
    pids: () => familyOf(program.pid),
    emptyPlace: async () => {
      const place = `/${places++}`;
      await mkdir(join(directory, 'files', place), { recursive: true });
      await chmod(join(directory, 'files', place), 0o777);
      return {
        put: ({ path, body }) => client.send('PUT', `${place}/${path}`, { body }),
        fetchAll: (notes, inFlight) =>
          fetchEach(
            notes,
            inFlight,
            async ({ path }) => (await client.send('GET', `${place}/${path}`)).length,
          ),
      };
    },
  };
}

const configuration = (directory: string, port: number): string => `
daemon off;
worker_processes 2;
pid ${directory}/nginx.pid;
error_log stderr notice;
user root;
events { worker_connections 256; }
http {
  access_log off;
  client_body_temp_path ${directory}/body;
  proxy_temp_path ${directory}/proxy;
  fastcgi_temp_path ${directory}/fastcgi;
  uwsgi_temp_path ${directory}/uwsgi;
  scgi_temp_path ${directory}/scgi;
  client_max_body_size 2m;
  keepalive_requests 1000000;
  server {
    listen 127.0.0.1:${port};
    root ${directory}/files;
    location / { dav_methods PUT; }
  }
}
`;
