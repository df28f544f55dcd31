// Writes docs/openapi.json, the document that a running service serves at /openapi.json, and docs/reference/routes.md from
// it: `npm run openapi`.
import { writeFile } from 'node:fs/promises';
import 'reflect-metadata';
import { routesText } from './routes-text.mjs';

const { AppModule } = await import('../dist/src/app.module.js');
const { ApiDocuments } = await import('../dist/src/api-docs/site/index.js');
const { loadConfiguration } = await import('../dist/src/config/index.js');

const controllers = new Set();
const visited = new Set();

function visit(module) {
  const dynamic = typeof module === 'function' ? { module } : module;
  if (!dynamic?.module || visited.has(dynamic.module)) return;
  visited.add(dynamic.module);
  const own = (key) => Reflect.getMetadata(key, dynamic.module) ?? [];
  for (const controller of [...own('controllers'), ...(dynamic.controllers ?? [])])
    controllers.add(controller);
  for (const next of [...own('imports'), ...(dynamic.imports ?? [])]) visit(next);
}

const configuration = loadConfiguration({ NODE_ENV: 'test', DATABASE_URL: 'postgres://nowhere/none' });
visit(AppModule.with({ configuration }));

const discovery = { getControllers: () => [...controllers].map((metatype) => ({ metatype })) };
const text = await new ApiDocuments(discovery).text();
await writeFile(new URL('../docs/openapi.json', import.meta.url), text);
await writeFile(new URL('../docs/reference/routes.md', import.meta.url), routesText(JSON.parse(text)));
const operations = text.match(/"operationId"/g).length;
console.log(`docs/openapi.json: ${operations} operations of ${controllers.size} controllers`);
