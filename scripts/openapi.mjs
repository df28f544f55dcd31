// Writes docs/openapi.json, which the service serves at /openapi.json; docs/internals/pages.openapi.json, which describes
// the pages for the tests; and docs/reference/routes.md from both: `npm run openapi`.
import { writeFile } from 'node:fs/promises';
import 'reflect-metadata';
import { routesText } from './routes-text.mjs';

const { AppModule } = await import('../dist/src/app.module.js');
const { ApiDocuments, documentText } = await import('../dist/src/web/api-reference/index.js');
const { loadConfiguration } = await import('../dist/src/platform/config/index.js');

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
const documents = new ApiDocuments(discovery);
const [api, pages] = [await documents.document(), await documents.pages()];
const write = (file, text) => writeFile(new URL(`../docs/${file}`, import.meta.url), text);
await write('openapi.json', documentText(api));
await write('internals/pages.openapi.json', documentText(pages));
await write('reference/routes.md', routesText(api, pages));
const count = ({ paths }) => Object.values(paths).flatMap(Object.keys).length;
console.log(`docs/openapi.json: ${count(api)} operations; ${count(pages)} of the pages`);
