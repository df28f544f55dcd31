import { type FindOptionsWhere, MoreThan } from 'typeorm';
import { AuditEventEntity } from '../../auth/audit/index.js';
import { AccessToken, AuthSession, KnownNetwork } from '../../auth/index.js';
import { PaymentEventEntity } from '../../billing/index.js';
import { Device } from '../../devices/index.js';
import { MailNotice } from '../notices/index.js';
import { BEFORE_ALL_IDS } from '../../../platform/database/index.js';
import type { List } from './export-lists.js';
import { exportStatements } from './export.queries.js';
import { rowsOf } from './rows-of.js';

const ofUser = { owner: 'userId', key: 'id' } as const;

const devices = rowsOf(Device, {
  ...ofUser,
  columns: ['id', 'name', 'platform', 'createdAt', 'lastSeenAt'],
});

const tokens = rowsOf(AccessToken, {
  ...ofUser,
  columns: ['id', 'name', 'scopes', 'workspaceId', 'createdAt', 'lastUsedAt', 'expiresAt', 'revokedAt'],
});

const sessions = rowsOf(AuthSession, {
  ...ofUser,
  columns: ['id', ['ip', 'ipAddress'], 'userAgent', 'createdAt', 'updatedAt', 'confirmedAt', 'expiresAt'],
});

const keySessions: List<{ id: string }> = {
  read: exportStatements.keySessions,
  start: [BEFORE_ALL_IDS],
  positionOf: ({ id }) => [id],
};

const networks = rowsOf(KnownNetwork, {
  owner: 'userId',
  key: 'network',
  start: '',
  columns: ['network', 'lastSeenAt'],
});

const notices: List<Pick<MailNotice, 'notice' | 'about'>> = {
  read: async (manager, userId, [notice, about], take) => {
    const above = [
      { userId, notice, about: MoreThan(about) },
      { userId, notice: MoreThan(notice) },
    ] as FindOptionsWhere<MailNotice>[];
    const order = { notice: 'ASC', about: 'ASC' } as const;
    const rows = await manager.getRepository(MailNotice).find({ where: above, order, take });
    return rows.map((row) => ({ notice: row.notice, about: row.about }));
  },
  start: ['', new Date(0)],
  positionOf: ({ notice, about }) => [notice, about],
};

const payments = rowsOf(PaymentEventEntity, {
  owner: 'userId',
  key: 'eventId',
  start: '',
  columns: [
    ['id', 'eventId'],
    'subscriptionId',
    'kind',
    'cause',
    'terms',
    'fate',
    'occurredAt',
    'receivedAt',
  ],
});

const audit = rowsOf(AuditEventEntity, {
  ...ofUser,
  start: 0,
  columns: ['id', 'at', 'action', 'actor', 'ip', 'userAgent', 'details'],
  // Without the administrator who acted, and from where.
  finished: (row) => (row['actor'] === 'user' ? row : { ...row, ip: null, userAgent: null }),
});

/** The lists of an account, in the order of the export. */
export const ACCOUNT_LISTS: readonly [string, List<never>][] = [
  ['devices', devices],
  ['tokens', tokens],
  ['sessions', sessions],
  ['key-sessions', keySessions],
  ['networks', networks],
  ['notices', notices],
  ['payments', payments],
  ['audit', audit],
];
