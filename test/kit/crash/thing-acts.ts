import type supertest from 'supertest';
import { TestAssets } from '../assets.js';
import type { TestUser } from '../index.js';
import type { Act } from './act.js';
import type { Sight, TokenHistory, WorkspaceHistory } from './history.js';

/** An object that is created or removed as a whole. */
interface Thing {
  readonly kind: string;
  readonly history?: WorkspaceHistory;
  readonly name: string;
  readonly unsure: Set<string>;
  readonly expected: number;
  readonly again: readonly number[];
  readonly isRepeatable?: boolean;
  send(user: TestUser): supertest.Test;
  done(answer: supertest.Response): void;
  /** Whether the operation has had its effect. */
  hasHappened(user: TestUser, sight: Sight): Promise<boolean>;
  /** Records the effect of an operation that got no answer. */
  adopt(user: TestUser): Promise<void> | void;
}

function act({ kind, history, name, unsure, expected, again, isRepeatable = true, ...thing }: Thing): Act {
  return {
    kind,
    ...(history && { history }),
    expected: [expected],
    send: thing.send,
    done: thing.done,
    lost: () => unsure.add(name),
    settle: async (user, sight) => {
      const hasHappened = await thing.hasHappened(user, sight);
      if (hasHappened && !isRepeatable) await thing.adopt(user);
      else {
        const answer = await thing.send(user);
        expect(hasHappened ? again : [expected]).toContain(answer.status);
        if (hasHappened) await thing.adopt(user);
        else thing.done(answer);
      }
      unsure.delete(name);
      return hasHappened;
    },
  };
}

export function checkpoint(history: WorkspaceHistory, label: string): Act {
  const send = (user: TestUser): supertest.Test =>
    user.post(`${history.as(user).path}/checkpoints`).send({ encryptedLabel: label, kind: 'manual' });
  return act({
    ...{
      kind: 'checkpoint',
      name: label,
      history,
      unsure: history.unsure,
      expected: 201,
      again: [],
      isRepeatable: false,
    },
    send,
    done: ({ body }) => void history.checkpoints.set(label, String(body.id)),
    hasHappened: (_user, sight) => Promise.resolve(sight.checkpoints.has(label)),
    adopt: async (user) => {
      const listed = (await history.as(user).checkpoints()).filter(
        ({ encryptedLabel }) => encryptedLabel === label,
      );
      expect(listed).toHaveLength(1);
      history.checkpoints.set(label, listed[0]?.id ?? '');
    },
  });
}

export function checkpointDeletion(history: WorkspaceHistory, label: string): Act {
  const id = history.checkpoints.get(label) ?? '';
  const forget = (): void => void history.checkpoints.delete(label);
  return act({
    ...{
      kind: 'checkpoint deletion',
      name: label,
      history,
      unsure: history.unsure,
      expected: 200,
      again: [404],
    },
    send: (user) => user.delete(`${history.as(user).path}/checkpoints/${id}`),
    done: forget,
    hasHappened: (_user, sight) => Promise.resolve(!sight.checkpoints.has(label)),
    adopt: forget,
  });
}

export function asset(history: WorkspaceHistory, token: string, bytes: Buffer): Act {
  const remember = (): void => history.addAsset(token, bytes);
  return act({
    ...{ kind: 'asset', name: token, history, unsure: history.unsure, expected: 201, again: [201] },
    send: (user) => TestAssets.of(history.as(user)).create(token, bytes, token),
    done: remember,
    hasHappened: (_user, sight) => Promise.resolve(sight.assets.has(token)),
    adopt: remember,
  });
}

export function assetDeletion(history: WorkspaceHistory, token: string): Act {
  const forget = (): void => void history.assets.delete(token);
  return act({
    ...{ kind: 'asset deletion', name: token, history, unsure: history.unsure, expected: 200, again: [200] },
    send: (user) => TestAssets.of(history.as(user)).delete(token),
    done: forget,
    hasHappened: (_user, sight) => Promise.resolve(!sight.assets.has(token)),
    adopt: forget,
  });
}

/** A token whose answer was lost is of no use; a retry would create another one of the same name. */
export function minting(tokens: TokenHistory, name: string): Act {
  const remember = (id: string): void => void tokens.tokens.set(name, { id, isRevoked: false });
  return act({
    ...{ kind: 'token', name, unsure: tokens.unsure, expected: 201, again: [], isRepeatable: false },
    send: (user) => user.post('/api/v1/auth/tokens').send({ name }),
    done: ({ body }) => remember(String(body.id)),
    hasHappened: async (user) => (await tokens.look(user)).has(name),
    adopt: async (user) => remember((await tokens.look(user)).get(name)?.id ?? ''),
  });
}

export function revocation(tokens: TokenHistory, name: string): Act {
  const id = tokens.tokens.get(name)?.id ?? '';
  const remember = (): void => void tokens.tokens.set(name, { id, isRevoked: true });
  return act({
    ...{ kind: 'revocation', name, unsure: tokens.unsure, expected: 200, again: [200] },
    send: (user) => user.delete(`/api/v1/auth/tokens/${id}`),
    done: remember,
    hasHappened: async (user) => (await tokens.look(user)).get(name)?.isRevoked === true,
    adopt: remember,
  });
}
