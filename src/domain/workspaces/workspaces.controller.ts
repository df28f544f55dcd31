import { Controller, Delete, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  BoundTokensToo,
  CurrentPrincipal,
  CurrentWorkspace,
  OwnedWorkspace,
  type Principal,
  RequiresSubscription,
  Scopes,
  Unbound,
  type WorkspaceRef,
} from '../../access/index.js';
import {
  arrayOf,
  BOOLEAN,
  Documented,
  INSTANT,
  json,
  named,
  nullable,
  objectOf,
  OK,
  SHA256_HEX,
  STRING,
  UUID,
} from '../../platform/api-docs/index.js';
import { JsonBody, sendJsonList } from '../../platform/http/index.js';
import { OpenWhenReadOnly } from '../../platform/kill-switch.js';
import { byUser } from '../auth/audit/index.js';
import { type ListedWorkspace, WorkspacesOfUser } from './workspaces-of-user.js';
import {
  CreateWorkspaceRequest,
  SetupEncryptionRequest,
  VerifyPasswordRequest,
  Workspaces,
} from './workspaces.service.js';

/** The contract requires snake_case for list and detail, camelCase for creation. */
function workspaceWire(workspace: ListedWorkspace) {
  return {
    id: workspace.id,
    user_id: workspace.userId,
    name: workspace.name,
    encryption_salt: workspace.encryptionSalt,
    created_at: workspace.createdAt,
    updated_at: workspace.updatedAt,
  };
}

type WorkspaceWire = ReturnType<typeof workspaceWire>;
type CreatedWorkspace = Omit<ListedWorkspace, 'encryptionSalt'>;

const WORKSPACE = named(
  'Workspace',
  objectOf<WorkspaceWire>({
    id: UUID,
    user_id: UUID,
    name: STRING,
    encryption_salt: nullable(SHA256_HEX),
    created_at: INSTANT,
    updated_at: INSTANT,
  }),
);

const CREATED = named(
  'CreatedWorkspace',
  objectOf<CreatedWorkspace>({
    id: UUID,
    userId: UUID,
    name: STRING,
    createdAt: INSTANT,
    updatedAt: INSTANT,
  }),
);

const WORKSPACES_DOCS = {
  tag: 'Workspaces',
  operations: {
    list: {
      summary: 'List the workspaces',
      description: 'A token that is bound to a workspace gets only that workspace.',
      answers: {
        200: json('all workspaces of the caller', objectOf({ workspaces: arrayOf(WORKSPACE) })),
      },
    },
    create: {
      summary: 'Create a workspace',
      answers: { 201: json('the workspace', CREATED), 409: 'the user already has 1,000 workspaces' },
    },
    get: { summary: 'Get a workspace', answers: { 200: json('the workspace', WORKSPACE) } },
    delete: {
      summary: 'Delete a workspace with all files, versions and assets',
      description: 'The workspace is 404 from now on. Its data is deleted in the background.',
      answers: { 200: json('the workspace is deleted', OK) },
    },
    setUpEncryption: {
      summary: 'Set up the end-to-end encryption',
      description:
        'This works once. The service compares the hash to learn whether a client knows the master key, which other devices take from a key slot.',
      answers: { 200: json('the encryption is set up', OK), 409: 'the encryption is already set up' },
    },
    verifyPassword: {
      summary: 'Check a verification hash',
      description:
        'At most 10 times a minute per workspace. Before the encryption is set up, no hash is valid.',
      answers: { 200: json('whether the hash is correct', objectOf({ valid: BOOLEAN })) },
    },
  },
} as const;

@Controller('api/v1/workspaces')
@Documented(WORKSPACES_DOCS)
export class WorkspacesController {
  constructor(
    private readonly workspaces: Workspaces,
    private readonly ofUser: WorkspacesOfUser,
  ) {}

  @Get()
  @Scopes('documents:read')
  @BoundTokensToo('lists only that workspace')
  async list(@CurrentPrincipal() principal: Principal, @Res() reply: FastifyReply): Promise<void> {
    const form = { before: '{"workspaces":[', after: ']}', wire: workspaceWire };
    await sendJsonList(reply, this.ofUser.list(principal), form);
  }

  @Post()
  @Scopes('full')
  @Unbound()
  @RequiresSubscription()
  async create(
    @CurrentPrincipal() principal: Principal,
    @JsonBody() body: CreateWorkspaceRequest,
  ): Promise<CreatedWorkspace> {
    const { id, userId, name, createdAt, updatedAt } = await this.ofUser.create(principal.userId, body.name);
    return { id, userId, name, createdAt, updatedAt };
  }

  @Get(':id')
  @Scopes('documents:read')
  @OwnedWorkspace()
  async get(@CurrentWorkspace() { id }: WorkspaceRef): Promise<WorkspaceWire> {
    return workspaceWire(await this.workspaces.get(id));
  }

  @Delete(':id')
  @Scopes('full')
  @OwnedWorkspace()
  async delete(
    @CurrentWorkspace() { id }: WorkspaceRef,
    @Req() request: FastifyRequest,
  ): Promise<{ ok: true }> {
    await this.workspaces.delete(id, byUser(request));
    return { ok: true };
  }

  @Post(':id/setup-encryption')
  @HttpCode(200)
  @Scopes('full')
  @OwnedWorkspace()
  async setUpEncryption(
    @CurrentWorkspace() { id }: WorkspaceRef,
    @JsonBody() body: SetupEncryptionRequest,
  ): Promise<{ ok: true }> {
    await this.workspaces.setUpEncryption(id, body);
    return { ok: true };
  }

  @Post(':id/verify-password')
  @OpenWhenReadOnly('only compares')
  @HttpCode(200)
  @Scopes('documents:read')
  @OwnedWorkspace()
  async verifyPassword(
    @CurrentWorkspace() { id }: WorkspaceRef,
    @JsonBody() body: VerifyPasswordRequest,
  ): Promise<{ valid: boolean }> {
    return { valid: await this.workspaces.verifyPassword(id, body.verificationHash) };
  }
}
