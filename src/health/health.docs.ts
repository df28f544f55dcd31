import { BOOLEAN, json, named, objectOf, oneOf, STRING } from '../api-docs/index.js';
import type { Readiness } from './readiness.js';

const STATE = {
  ready: BOOLEAN,
  database: oneOf('ok', 'away'),
  blobs: oneOf('ok', 'away'),
  migrations: oneOf('ok', 'behind', 'ahead', 'unknown'),
};

const READINESS = named('Readiness', objectOf<Readiness>(STATE));
const NOT_READY = named('NotReady', objectOf<Readiness & { error: string }>({ error: STRING, ...STATE }));

export const HEALTH_DOCS = {
  tag: 'Service',
  operations: {
    health: {
      summary: 'Whether the process answers',
      answers: { 200: json('it does', objectOf<{ ok: true }>({ ok: { const: true } })) },
    },
    ready: {
      summary: 'Whether this instance can do its work',
      answers: { 200: json('it can', READINESS), 503: json('it cannot', NOT_READY) },
    },
  },
} as const;
