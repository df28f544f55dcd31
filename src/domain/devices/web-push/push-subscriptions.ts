import { Controller, Delete, Injectable, Param, Post } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Allow, IsString } from 'class-validator';
import { Column, Entity, PrimaryColumn, Repository } from 'typeorm';
import { BoundTokensToo, CurrentPrincipal, type Principal, Scopes } from '../../../access/index.js';
import { Documented, json, matching, OK, URL_TEXT, UUID } from '../../../platform/api-docs/index.js';
import { Clock } from '../../../platform/clock.js';
import { Database } from '../../../platform/database/index.js';
import { BadRequest, JsonBody, notFoundIfPurged } from '../../../platform/http/index.js';
import { NotPublic, parsePublicUrl } from '../../../platform/outbound.js';
import { lockOwnUser } from '../../auth/index.js';
import { Workspaces } from '../../workspaces/index.js';
import { DEVICE_ID, DEVICE_ID_RULE, isDeviceId } from '../index.js';
import { pushSubscriptionStatements } from './web-push.queries.js';

/** The endpoint and keys for pushes to a device of a workspace, and its pending push. */
@Entity('push_subscriptions')
export class StoredSubscription {
  @PrimaryColumn('uuid')
  workspaceId: string;

  @PrimaryColumn('text')
  deviceId: string;

  @Column('text')
  endpoint: string;

  @Column('text')
  p256dh: string;

  @Column('text')
  auth: string;

  @Column('timestamptz')
  updatedAt: Date;

  @Column('boolean')
  pendingChanges: boolean;

  @Column('boolean')
  pendingAssets: boolean;

  /** Null while no push is pending. */
  @Column('timestamptz', { nullable: true })
  dueAt: Date | null;

  /** No push is sent earlier. */
  @Column('timestamptz', { nullable: true })
  notBefore: Date | null;

  /** Consecutive failures of the endpoint. */
  @Column('integer')
  failures: number;
}

const MAX_ENDPOINT_LENGTH = 2048;

/** The endpoint and keys for pushes to a device of a workspace. */
export interface PushSubscription {
  readonly deviceId: string;
  /** A secret: its knowledge is enough to push to it. Never log it or include it in an answer. */
  readonly endpoint: string;
  /** 65 bytes in base64url: the browser's public key. Whether it is a point of P-256 is only checked when a push is encrypted. */
  readonly p256dh: string;
  /** 16 bytes in base64url. */
  readonly auth: string;
}

/** @throws BadRequest that names the first field that is missing or invalid */
export function parsePushSubscription(request: {
  deviceId?: unknown;
  endpoint?: unknown;
  keys?: unknown;
}): PushSubscription {
  const { deviceId, endpoint } = request;
  if (!isDeviceId(deviceId)) throw new BadRequest(`deviceId ${DEVICE_ID_RULE}`);
  if (typeof endpoint !== 'string') throw new BadRequest('endpoint must be a string');
  const keys = (request.keys ?? {}) as { p256dh?: unknown; auth?: unknown };

  const p256dh = decoded(keys.p256dh);
  if (p256dh?.length !== 65) throw new BadRequest('keys.p256dh must be 65 bytes in base64url');
  const auth = decoded(keys.auth);
  if (auth?.length !== 16) throw new BadRequest('keys.auth must be 16 bytes in base64url');

  return {
    deviceId,
    endpoint: normalized(endpoint),
    p256dh: p256dh.toString('base64url'),
    auth: auth.toString('base64url'),
  };
}

/** @throws NotPublic for an address to which no push may be sent */
export function parseEndpoint(endpoint: string): URL {
  return parsePublicUrl(endpoint, MAX_ENDPOINT_LENGTH);
}

/** The URL parser's spelling, so that no later reader can parse it as another address. */
function normalized(endpoint: string): string {
  try {
    return parseEndpoint(endpoint).href;
  } catch (error) {
    throw error instanceof NotPublic ? new BadRequest(`endpoint ${error.message}`) : error;
  }
}

function decoded(text: unknown): Buffer | undefined {
  if (typeof text !== 'string' || !/^[A-Za-z0-9_-]{1,100}={0,2}$/.test(text)) return undefined;
  return Buffer.from(text, 'base64url');
}

/** Ownership is checked before the other fields, so this class validates only what that check needs. */
export class SubscribeRequest {
  @IsString()
  workspaceId: string;

  @Allow()
  deviceId?: unknown;

  @Allow()
  endpoint?: unknown;

  @Allow()
  keys?: unknown;
}

/** Beyond this, the least recently renewed subscription is deleted, so that a change does not cause a flood of pushes. */
const MAX_PER_WORKSPACE = 100;

/** For all workspaces of a user; beyond it, the same applies. */
const MAX_PER_USER = 1_000;

/** The devices that want pushes for a workspace, with one subscription each. Stored even while Web Push is off. */
@Injectable()
export class PushSubscriptions {
  constructor(
    @InjectRepository(StoredSubscription) private readonly subscriptions: Repository<StoredSubscription>,
    private readonly workspaces: Workspaces,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /**
   * A device's second subscription replaces its first.
   * @throws NotFound for another user's workspace, then BadRequest; Unauthorized when the account has just been deleted
   */
  async subscribe(principal: Principal, request: SubscribeRequest): Promise<void> {
    const workspaceId = await this.workspaces.requireOwned(request.workspaceId, principal);
    const { deviceId, endpoint, p256dh, auth } = parsePushSubscription(request);
    try {
      await this.database.sharedTransaction(async (tx) => {
        await lockOwnUser(tx, principal.userId);
        const { crowdOutOfWorkspace, put, crowdOut } = pushSubscriptionStatements;
        await tx.run(crowdOutOfWorkspace, [workspaceId, deviceId, MAX_PER_WORKSPACE]);
        await tx.run(put, [workspaceId, deviceId, endpoint, p256dh, auth, this.clock.now()]);
        await tx.run(crowdOut, [principal.userId, workspaceId, deviceId, MAX_PER_USER]);
      });
    } catch (error) {
      throw notFoundIfPurged(error);
    }
  }

  /** Succeeds even if there is none. @throws NotFound for another user's workspace */
  async unsubscribe(principal: Principal, workspaceId: string, deviceId: string): Promise<void> {
    const id = await this.workspaces.requireOwned(workspaceId, principal);
    if (isDeviceId(deviceId)) await this.subscriptions.delete({ workspaceId: id, deviceId });
  }
}

const BASE64URL = (characters: string) => ({ type: 'string', pattern: `^[A-Za-z0-9_-]${characters}={0,2}$` });

const PUSH_SUBSCRIPTIONS_DOCS = {
  tag: 'Devices',
  operations: {
    subscribe: {
      summary: 'Subscribe a device of a workspace to Web Push',
      description: 'A second subscription of the same device replaces the first.',
      properties: {
        workspaceId: UUID,
        deviceId: matching(DEVICE_ID),
        endpoint: { ...URL_TEXT, maxLength: 2048, description: 'an https URL outside private networks' },
        keys: {
          type: 'object',
          properties: {
            p256dh: { ...BASE64URL('{87}'), description: '65 bytes in base64url' },
            auth: { ...BASE64URL('{22}'), description: '16 bytes in base64url' },
          },
          required: ['p256dh', 'auth'],
        },
      },
      answers: { 201: json('the device is subscribed', OK), 404: 'workspace not found' },
    },
    unsubscribe: {
      summary: 'Delete the push subscription of a device',
      description: 'Succeeds even if the device has no subscription.',
      path: {
        workspaceId: { description: 'The workspace.', schema: UUID },
        deviceId: { description: 'The device id that the subscription was created with.' },
      },
      answers: { 200: json('the device has no subscription', OK), 404: 'workspace not found' },
    },
  },
} as const;

@Controller('api/v1/devices/push-subscription')
@Documented(PUSH_SUBSCRIPTIONS_DOCS)
@Scopes('documents:read', 'documents:write')
@BoundTokensToo('the service checks the token against the workspace in the body or path')
export class PushSubscriptionsController {
  constructor(private readonly subscriptions: PushSubscriptions) {}

  @Post()
  async subscribe(
    @CurrentPrincipal() principal: Principal,
    @JsonBody() body: SubscribeRequest,
  ): Promise<{ ok: true }> {
    await this.subscriptions.subscribe(principal, body);
    return { ok: true };
  }

  @Delete(':workspaceId/:deviceId')
  async unsubscribe(
    @CurrentPrincipal() principal: Principal,
    @Param('workspaceId') workspaceId: string,
    @Param('deviceId') deviceId: string,
  ): Promise<{ ok: true }> {
    await this.subscriptions.unsubscribe(principal, workspaceId, deviceId);
    return { ok: true };
  }
}
