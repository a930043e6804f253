# 5 failed of 'failing.sh'; this list runs them again
# line 2
for i in 1 2 3 4 5 6 7; do echo "line $i of file 1" >&2; done; exit 3 #:g
# line 3
for i in 1 2 3 4 5 6 7; do echo "line $i of file 2" >&2; done; exit 3
# line 4
kill -SEGV $$
#WQ time=0.1
# line 7
sleep 100
#WQ time= retries=1
# line 11
false # twice
