package ticket
import ("testing";"os";"fmt";"path/filepath";"time";"github.com/ambit-run/ambit/fault")
func TestCorpusTmp(t *testing.T){
 fs,_:=filepath.Glob("/work/shared/vectors/tickets/*.md")
 for _, f := range fs {
  b,_:=os.ReadFile(f)
  t0:=time.Now()
  tk, ds := Parse(filepath.Base(f),b,Options{})
  d, ds2 := Build(tk,BuildOptions{})
  el:=time.Since(t0)
  c:=map[fault.Severity]int{}
  for _,x:=range append(ds,ds2...) { c[x.Severity]++; if x.Severity=="error" {fmt.Println("   ",x.String(), x.Detail)} }
  n,w:=-1,-1; if d!=nil {n=len(d.Nodes);w=len(d.Waves())}
  fmt.Printf("%s tasks=%d nodes=%d waves=%d diags=%v %v %s\n",filepath.Base(f),len(tk.Tasks),n,w,c,el,tk.NoTasks)
 }
}
