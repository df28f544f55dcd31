// Writes docs/reference/schema.sql, the tables as the migrations leave them: `npm run schema`, after a build.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedDatabase } from './embedded-database.mjs';
import { schemaText } from './schema-text.mjs';

const FILE = new URL('../docs/reference/schema.sql', import.meta.url);

const { createDataSource, migrate } = await import('../dist/src/platform/database/index.js');
const { UPLOAD_FUNCTIONS } = await import('../dist/src/domain/files/upload-writer.js');

const dataDir = await mkdtemp(join(tmpdir(), 'schema-'));
const server = await startEmbeddedDatabase(dataDir);
try {
  const source = createDataSource({
    target: server.target,
    poolSize: 2,
    entities: [],
    onPoolError: (error) => console.error(error),
    isWithoutTimeouts: true,
  });
  await source.initialize();
  let text;
  try {
    await migrate(source, [UPLOAD_FUNCTIONS]);
    text = await schemaText((sql, values) => source.query(sql, values));
  } finally {
    await source.destroy();
  }
  await mkdir(new URL('.', FILE), { recursive: true });
  await writeFile(FILE, text);
  console.log(`docs/reference/schema.sql: ${text.match(/^CREATE (?:UNLOGGED )?TABLE /gm).length} tables`);
} finally {
  await server.stop();
  await rm(dataDir, { recursive: true, force: true });
}
