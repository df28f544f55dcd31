// Builds dist/service from the compiler's output: the service, its admin command and their libraries in a few files. They
// load in less than half the time: docs/adr/0026-run-the-service-from-a-bundle.md.
import { cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

const dist = join(import.meta.dirname, '..', 'dist');
const target = join(dist, 'service');

/** Other packages require the first three at run time, so bundling would load them twice. The fourth reads its package.json. */
const LOADED_AS_THEY_ARE = ['pg', 'pg-protocol', 'typeorm', 'ioredis'];

/** Nest loads these if they are installed. */
const NOT_USED = [
  '@fastify/multipart',
  '@fastify/static',
  '@fastify/view',
  '@nestjs/microservices',
  '@nestjs/platform-express',
  '@nestjs/platform-socket.io',
];

const external = [...LOADED_AS_THEY_ARE, ...NOT_USED];

const bundle = await rolldown({
  input: {
    main: join(dist, 'src/main.js'),
    admin: join(dist, 'src/operations/admin/main.js'),
    distribute: join(dist, 'src/operations/admin/distribute.js'),
  },
  platform: 'node',
  external: (id) => external.some((name) => id === name || id.startsWith(`${name}/`)),
  onLog: (level, { message }) => {
    if (level === 'warn') throw new Error(message); // for example an unresolved import
  },
});
await rm(target, { recursive: true, force: true });
// V8 keeps the source of each file, with two bytes per character if any character is beyond Latin-1.
await bundle.write({ dir: target, keepNames: true, sourcemap: true, charset: 'ascii', comments: false });
await cp(join(dist, 'src/domain/files/put-documents.sql'), join(target, 'put-documents.sql'));
await cp(join(dist, 'src/web/layout/assets'), join(target, 'assets'), { recursive: true });
await cp(join(dist, '../README.md'), join(target, 'assets/readme.md'));
await writeFile(join(target, '.complete'), ''); // written last: an interrupted build is repeated
