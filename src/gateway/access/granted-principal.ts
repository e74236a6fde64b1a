import type { Grant } from '../../contract/keys.ts';
import type { Need, Principal, Reach, Verdict } from './access.ts';

/** A proven identity and its grants. */
export interface Granted {
  /** For audit and limits; never a secret. */
  name: string;
  person?: string;
  userId?: string;
  keyId?: string;
  grants: readonly Grant[];
}

/** Somebody who may do what grants say, and nothing else. */
export function grantedPrincipal({ grants, ...who }: Granted): Principal {
  const { userId } = who;
  const own = userId === undefined ? grants : grants.flatMap((grant) => ofUser(grant, userId));
  const apps = [...new Set(own.map(({ app }) => app))];
  const known = apps.includes('*') ? {} : { apps };
  return { ...who, ...known, reaches: own.map(reachOf), may: (need) => verdictOf(own, need) };
}

function reachOf({ app, user, roles }: Grant): Reach {
  return {
    permissions: roles,
    ...(app === '*' ? {} : { app }),
    ...(user === undefined ? {} : { userId: user }),
  };
}

/** The effect of a grant for a caller who may act for one user only. */
function ofUser(grant: Grant, userId: string): Grant[] {
  return grant.user === undefined || grant.user === userId ? [{ ...grant, user: userId }] : [];
}

/**
 * Allowed where one grant allows it. Forbidden where others reach as far without allowing it, and for what is of all apps; what
 * is beyond all grants is hidden.
 */
function verdictOf(grants: readonly Grant[], need: Need): Verdict {
  if (grants.some((grant) => covers(grant, need) && grant.roles.includes(need.permission))) return 'allowed';
  return need.app === undefined || grants.some((grant) => reaches(grant, need)) ? 'forbidden' : 'hidden';
}

/** All that is needed is the grant's. */
function covers({ app, user }: Grant, need: Need): boolean {
  return (app === '*' || app === need.app) && (user === undefined || user === need.userId);
}

/** Some of what is needed is the grant's: that it is there is known to who has it. */
function reaches({ app, user }: Grant, need: Need): boolean {
  const isApp = app === '*' || app === need.app;
  return isApp && (user === undefined || need.userId === undefined || user === need.userId);
}
